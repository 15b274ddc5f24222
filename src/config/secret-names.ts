/**
 * What must not be shown although nothing says that it is a secret: by the name it stands under, or by its form. For
 * lines of a file that could not be read, and for values that no schema knows; where there is a schema, that decides.
 */

const NAMES =
  /(^|[-_.])(api[-_]?key|key|token|password|passwd|secret|authorization|credential)s?$/i;
const CAMEL = /(Key|Token|Password|Secret|Authorization|Credential)s?$/;
/** Keys of well-known providers, our own virtual keys, and what follows an authentication scheme. */
const FORMS =
  /^(sk|pk|rk|mk|xai|gsk|hf|ghp|AIza)[-_]?[\w-]{8,}|^(Bearer|Basic)\s+\S|:\/\/[^/@\s]*:[^/@\s]+@/;

/** A reference names where the secret is, and may be shown. */
export function isReference(value: string): boolean {
  return value.startsWith("env:") || value.startsWith("file:");
}

export function looksSecret(value: string): boolean {
  return FORMS.test(value) && !isReference(value);
}

export function isSecretName(name: string, value: string): boolean {
  return (NAMES.test(name) || CAMEL.test(name)) && value.length > 0 && !isReference(value);
}
