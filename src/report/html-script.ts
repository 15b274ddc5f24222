/**
 * All the script that the report has: it saves the embedded document, and opens what is folded while printing, but for the
 * tables of single charts, which "all percentiles" holds too. Without it the page is whole all the same.
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
  folded = [...document.querySelectorAll("section > details:not([open])")];
  for (const one of folded) one.open = true;
});
addEventListener("afterprint", () => {
  for (const one of folded) one.open = false;
});
`;
