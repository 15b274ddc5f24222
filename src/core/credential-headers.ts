/**
 * Headers by which a caller says who it is, in lower case: of the APIs of models, of what stands before them, and of HTTP. Where a
 * request goes to somebody whom its caller has not named, or with another one's key, none of them goes along.
 */
export const CREDENTIAL_HEADERS: ReadonlySet<string> = new Set([
  "authorization",
  "proxy-authorization",
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "ocp-apim-subscription-key",
  "x-amz-security-token",
  "cookie",
  // Whose account pays: another one's key has another one.
  "openai-organization",
  "openai-project",
]);
