/** How web pages come into the index: by a command, which is shown as it must be run. */

import { useState } from "preact/hooks";
import { Icon } from "../../../components/icons";
import type { DocumentsTexts } from "./texts";

export function Crawl({ texts, collection }: { texts: DocumentsTexts; collection: string }) {
  const [address, setAddress] = useState("https://example.org/sitemap.xml");
  const [copied, setCopied] = useState(false);
  const command = `answerbus ingest --sitemap ${quoted(address)}${collection ? ` --collection ${quoted(collection)}` : ""}`;
  const copy = (): void => void navigator.clipboard.writeText(command).then(() => setCopied(true), () => setCopied(false));
  return (
    <section class="stack" aria-labelledby="documents-crawl">
      <h2 id="documents-crawl">{texts.crawl}</h2>
      <p>{texts.crawlHint}</p>
      <label class="field">
        {texts.sitemap}
        <input type="url" value={address} onInput={(event) => (setAddress(event.currentTarget.value), setCopied(false))} />
      </label>
      <div class="row command">
        <pre tabIndex={0} role="region" aria-label={texts.command}>
          {command}
        </pre>
        <button type="button" aria-label={texts.copy} onClick={copy}>
          <Icon name="copy" />
        </button>
        <span class="muted" role="status">
          {copied ? texts.copied : ""}
        </span>
      </div>
    </section>
  );
}

/** A word of a shell's command. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
