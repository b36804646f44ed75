// Takes the code out of the address, so that no history keeps it, and sends it.
const code = new URLSearchParams(location.hash.slice(1)).get("t");
history.replaceState(null, "", location.pathname);
const field = document.querySelector("#t");
if (code) { field.value = code; field.form.requestSubmit(); }
