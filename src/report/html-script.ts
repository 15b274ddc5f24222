/**
 * All the script that the report has: it saves the embedded document, and opens what is folded while printing. Without it
 * the page is whole all the same.
 */
export const SCRIPT = `
const save = document.getElementById("save");
save.hidden = false;
save.addEventListener("click", () => {
  const link = document.createElement("a");
  const text = document.getElementById("result").textContent;
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = "result.json";
  link.click();
  URL.revokeObjectURL(link.href);
});
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const one of folded) one.open = true;
});
addEventListener("afterprint", () => {
  for (const one of folded) one.open = false;
});
`;
