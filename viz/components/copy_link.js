// The address is read at the click: a part of the page may have changed it without the page being drawn anew.
export default function ({ parentElement, data }) {
  const root = parentElement.querySelector(".root");
  const known = JSON.stringify(data);
  if (root.dataset.known === known) return;
  root.dataset.known = known;
  root.replaceChildren();
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = data.copy;
  const shown = document.createElement("input");
  shown.readOnly = true;
  shown.hidden = true;
  shown.setAttribute("aria-label", data.copy);
  const said = document.createElement("span");
  said.setAttribute("role", "status");
  button.addEventListener("click", async () => {
    shown.value = location.href;
    shown.hidden = false;
    said.textContent = (await copied(shown)) ? data.copied : data.by_hand;
  });
  root.append(button, shown, said);
}

async function copied(shown) {
  try {
    await navigator.clipboard.writeText(shown.value);
    return true;
  } catch {
    shown.focus();
    shown.select();
    return document.execCommand("copy"); // a page that did not come over https has no clipboard of its own
  }
}
