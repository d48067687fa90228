// Saves files.

/** Makes the browser download a blob under a name. */
export function saveAs(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The download has started long before.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
