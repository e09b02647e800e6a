/**
 * The chat inside a page of another site: `<script src="https://answers.example.org/widget.js"></script>` and
 * `<answerbus-chat></answerbus-chat>`. The gateway must allow the site (ANSWERBUS_WIDGET_ORIGINS).
 *
 * A script of the classic kind: a module of another origin would need CORS.
 */

(() => {
  const script = document.currentScript as HTMLScriptElement;
  const home = script.src.replace(/[^/]*$/, "");

  class AnswerbusChat extends HTMLElement {
    connectedCallback(): void {
      if (this.firstChild) return;
      const frame = document.createElement("iframe");
      frame.src = `${home}?embedded`;
      frame.title = this.getAttribute("label") ?? "Answerbus";
      frame.allow = "clipboard-write";
      frame.style.cssText = "border:0;width:100%;height:100%;min-height:28rem";
      this.style.display ||= "block";
      this.append(frame);
    }
  }

  if (!customElements.get("answerbus-chat")) customElements.define("answerbus-chat", AnswerbusChat);
})();

export {};
