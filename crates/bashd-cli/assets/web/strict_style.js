// Lets xterm.js work under a policy that forbids inline styles: what it writes into style elements
// and style attributes goes to the style objects instead, which the policy leaves to scripts.

const createElement = Document.prototype.createElement;
const setAttribute = Element.prototype.setAttribute;

Document.prototype.createElement = function (name, ...rest) {
  if (String(name).toLowerCase() !== "style") return createElement.call(this, name, ...rest);
  // In its place in the page is something that shows nothing.
  const element = createElement.call(this, "template");
  adopt(element);
  return element;
};

Element.prototype.setAttribute = function (name, value) {
  if (name === "style") this.style.cssText = value;
  else setAttribute.call(this, name, value);
};

function adopt(element) {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  Object.defineProperty(element, "textContent", {
    get: () => "",
    set: (text) => sheet.replaceSync(text),
  });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    Element.prototype.remove.call(element);
  };
}
