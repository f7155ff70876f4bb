/** Hands a text to the browser as a download. */
export function saveAs(name: string, text: string, type: "text/csv" | "text/plain"): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
