/**
 * The twin's words. Token i of an answer is a fixed function of the seed, the prompt and i, so the same request gets the
 * same answer in every run, whatever else is under way, and a reader can count tokens by counting words.
 */
const VOCABULARY = `
able about above across after again air all along also always among and another answer any are area around ask away
back base be because become bed been before began behind being below best better between big bird black blue boat body
book both box boy bring brought build but by call came can car care carry cause centre certain change check children
city class clear close cold colour come common complete could country course cover cross cut dark day deep did differ
direct distance do does door down draw dry during each early earth ease east eat end enough even ever every example
eye face fact fall family far farm fast father feet few field figure fill final find fine fire first fish five fly
follow food foot for force form found four free friend from front full game gave get girl give go gold good got great
green ground group grow had half hand happen hard has have he head hear heard heat help her here high him his hold home
horse hot hour house how hundred idea if in inch interest is island it just keep kind king knew know land language
large last late laugh lay lead learn leave left less let letter life light like line list listen little live long look
lost love low machine made main make man many map mark may me mean measure men might mile mind minute miss money
`
  .trim()
  .split(/\s+/);

/** Two numbers into one of 32 bits, every bit of which depends on both (the finaliser of MurmurHash3, A. Appleby). */
export function mix(left: number, right: number): number {
  let hash = Math.imul(left ^ Math.imul(right, 0x9e3779b1), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** Word `index` of the answer that `base` stands for; all but the first bring the space before them. */
export function tokenText(base: number, index: number): string {
  const word = VOCABULARY[mix(base, index) % VOCABULARY.length]!;
  return index === 0 ? word : ` ${word}`;
}

/** Mean length of an answer whose length nobody set, tokens, and its bound. */
const OWN_MEAN_TOKENS = 128;
const OWN_MAX_TOKENS = 1_024;

/** How long an answer gets by itself: exponential, as the lengths of chat answers roughly are. */
export function ownLengthTokens(base: number): number {
  const uniform = mix(base, -1) / 2 ** 32;
  const drawn = Math.ceil(-OWN_MEAN_TOKENS * Math.log1p(-uniform));
  return Math.min(OWN_MAX_TOKENS, Math.max(1, drawn));
}
