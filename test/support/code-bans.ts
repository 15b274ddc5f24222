/**
 * What code in src may not do, found in syntax trees, so that comments and strings cannot trigger a ban. Each ban names
 * what to use instead.
 */
import { folderOf, isTest } from "./rank-rules.ts";
import { is, lineAt, type Node, type SourceFile, SyntaxKind, walk } from "./syntax.ts";

interface Ban {
  readonly instead: string;
  /** Folders of src to which the ban does not apply. */
  readonly except?: readonly string[];
  /** The only folders to which it applies; all, if absent. */
  readonly only?: readonly string[];
  /** The words to report, if this node is what is banned. */
  readonly find: (node: Node) => string | undefined;
}

const GLOBAL_TIMERS: readonly string[] = ["setTimeout", "setInterval", "setImmediate"];
const RANDOM_SOURCES: readonly string[] = [
  "randomUUID",
  "randomBytes",
  "randomInt",
  "getRandomValues",
];
const TIME_MODULES = /^(node:)?timers(\/promises)?$|^(node:)?perf_hooks$/;
const PROCESS_MODULE = /^(node:)?process$/;
const PURE_DATE_MEMBERS: readonly string[] = ["UTC", "parse"];

const BANS: readonly Ban[] = [
  {
    instead: "clock.nowUs(), or clock.wallMs() for the time of day",
    except: ["clock"],
    find: (node) => (isGlobal(node, "Date") && !isPureDate(node) ? "Date as a clock" : undefined),
  },
  {
    instead: "clock.nowUs()",
    except: ["clock"],
    find: (node) => (isGlobal(node, "performance") ? "performance" : undefined),
  },
  {
    instead: "clock.nowUs()",
    except: ["clock"],
    find: (node) => member(node, "process", ["hrtime", "uptime"]),
  },
  {
    instead: "clock.at() or clock.sleepUntil()",
    except: ["clock"],
    find: (node) => GLOBAL_TIMERS.find((name) => isGlobal(node, name)),
  },
  {
    instead: "clock.at() or clock.sleepUntil()",
    except: ["clock"],
    find: (node) => moduleName(node, TIME_MODULES),
  },
  {
    instead: "clock.deadline(), which also fires in virtual time",
    except: ["clock"],
    find: (node) => member(node, "AbortSignal", ["timeout"]),
  },
  {
    instead: "a Random with a purpose of its own",
    except: ["clock"],
    find: (node) => {
      if (!isGlobal(node, "Math")) return undefined;
      const name = memberOf(node);
      if (name === undefined) return "Math as a value, which hides Math.random";
      return name === "random" ? "Math.random" : undefined;
    },
  },
  {
    instead: "a Random with a purpose of its own, which can make ids too",
    except: ["clock"],
    find: (node) =>
      is.isIdentifier(node) && RANDOM_SOURCES.includes(node.text) ? node.text : undefined,
  },
  {
    instead: "the events that commit() answers: an engine runs nothing later",
    only: ["core", "stats", "stream", "trace", "policy", "engine"],
    find: (node) => (isGlobal(node, "queueMicrotask") ? "queueMicrotask" : undefined),
  },
  {
    instead: "a ManxError, whose code decides the exit code",
    except: ["cli"],
    find: (node) => member(node, "process", ["exit", "exitCode", "abort", "kill"]),
  },
  {
    instead: "a value for the caller: only cli prints",
    except: ["cli"],
    find: (node) =>
      isGlobal(node, "console") ? "console" : member(node, "process", ["stdout", "stderr"]),
  },
  {
    instead: "the Io that a command is given",
    find: (node) => moduleName(node, PROCESS_MODULE),
  },
  {
    instead: "a union of string literals, or a const object",
    find: (node) => (node.kind === SyntaxKind.EnumDeclaration ? "enum" : undefined),
  },
  {
    instead: "a module",
    find: (node) => (isNamespace(node) ? "namespace" : undefined),
  },
];

/** `declare module "x"` adds to the types of somebody else's module and makes nothing. */
function isNamespace(node: Node): boolean {
  if (node.kind !== SyntaxKind.ModuleDeclaration) return false;
  return (node as unknown as { name: Node }).name.kind !== SyntaxKind.StringLiteral;
}

/** One sentence for each banned use in a file of src. Tests may do as they like. */
export function banProblems(path: string, tree: SourceFile): string[] {
  if (isTest(path)) return [];
  const folder = folderOf(path) ?? "";
  const bans = BANS.filter(
    (ban) => !ban.except?.includes(folder) && (ban.only === undefined || ban.only.includes(folder)),
  );
  const problems: string[] = [];
  walk(tree, (node) => {
    for (const ban of bans) {
      const found = ban.find(node);
      if (found === undefined) continue;
      const line = lineAt(tree.text, node.getStart(tree));
      problems.push(`${path}:${line} uses ${found}; use ${ban.instead}`);
    }
  });
  return problems;
}

/** `globalThis.x` and a plain `x` that stands for a value: no member's name, no declaration, no type, no import. */
function isGlobal(node: Node, name: string): boolean {
  if (!is.isIdentifier(node) || node.text !== name) return false;
  const { parent } = node;
  if (is.isPropertyAccessExpression(parent) && parent.name === node) {
    return is.isIdentifier(parent.expression) && parent.expression.text === "globalThis";
  }
  if (is.isTypeReferenceNode(parent) || is.isQualifiedName(parent)) return false;
  // Where an import comes from decides, not what it is called.
  if (is.isImportSpecifier(parent) || is.isExportSpecifier(parent)) return false;
  const named = parent as Node & { name?: Node };
  return named.name !== node;
}

/** `name` if `node` stands before `.name`. */
function memberOf(node: Node): string | undefined {
  const { parent } = node;
  const isObject = is.isPropertyAccessExpression(parent) && parent.expression === node;
  return isObject ? parent.name.text : undefined;
}

/** `object.name` for one of `names`, also by destructuring or in brackets. */
function member(node: Node, object: string, names: readonly string[]): string | undefined {
  if (is.isPropertyAccessExpression(node)) {
    const hit = is.isIdentifier(node.expression) && node.expression.text === object;
    return hit && names.includes(node.name.text) ? `${object}.${node.name.text}` : undefined;
  }
  if (is.isElementAccessExpression(node)) {
    const { expression, argumentExpression: key } = node;
    const hit = is.isIdentifier(expression) && expression.text === object;
    return hit && is.isStringLiteral(key) && names.includes(key.text)
      ? `${object}.${key.text}`
      : undefined;
  }
  if (is.isVariableDeclaration(node) && node.initializer !== undefined) {
    const { initializer, name } = node;
    if (!is.isIdentifier(initializer) || initializer.text !== object) return undefined;
    if (!is.isObjectBindingPattern(name)) return undefined;
    const taken = name.elements.map((one) => (one.propertyName ?? one.name)?.getText());
    const hit = names.find((one) => taken.includes(one));
    return hit === undefined ? undefined : `${object}.${hit}`;
  }
  return undefined;
}

/** `new Date(value)`, `Date.UTC`, `Date.parse` and `x instanceof Date` read no clock. */
function isPureDate(node: Node): boolean {
  const { parent } = node;
  if (is.isNewExpression(parent) && parent.expression === node) {
    return (parent.arguments?.length ?? 0) > 0;
  }
  if (is.isBinaryExpression(parent)) {
    return parent.operatorToken.kind === SyntaxKind.InstanceOfKeyword;
  }
  return PURE_DATE_MEMBERS.includes(memberOf(node) ?? "");
}

/** The specifier of an import that `pattern` matches. */
function moduleName(node: Node, pattern: RegExp): string | undefined {
  if (!is.isStringLiteral(node) || !pattern.test(node.text)) return undefined;
  const { parent } = node;
  const isImported =
    is.isImportDeclaration(parent) ||
    is.isExportDeclaration(parent) ||
    (is.isCallExpression(parent) && parent.expression.kind === SyntaxKind.ImportKeyword);
  return isImported ? node.text : undefined;
}
