// Files.

/** Has the browser save something under a name. */
export function saveAs(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // Once the browser has surely begun.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
