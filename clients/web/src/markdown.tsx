/** The text of an answer as elements: Markdown without HTML, and its citation numbers as buttons. */

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { marked, type Token, type Tokens } from "marked";

const MARKER = /\[(\d{1,2})\]/;

interface Props {
  text: string;
  /** What a citation number shows; null where there is no such citation (yet). */
  cite: (number: number) => ComponentChildren;
}

export function Markdown({ text, cite }: Props) {
  // Every word of one draft draws all answers anew: only what has changed is read again.
  const tokens = useMemo(() => marked.lexer(text), [text]);
  return <div class="prose">{blocks(tokens, cite)}</div>;
}

/** Only web addresses become links. */
export function webAddress(address: string): string {
  return /^https?:\/\//i.test(address) ? address : "";
}

function blocks(tokens: readonly Token[], cite: Props["cite"]): ComponentChildren[] {
  return tokens.map((token) => {
    switch (token.type) {
      case "space":
        return null;
      case "heading":
        return <p class="heading">{inline(token.tokens, cite)}</p>;
      case "paragraph":
        return <p>{inline(token.tokens, cite)}</p>;
      case "blockquote":
        return <blockquote>{blocks(token.tokens ?? [], cite)}</blockquote>;
      case "code":
        return (
          <pre tabIndex={0}>
            <code>{token.text}</code>
          </pre>
        );
      case "hr":
        return <hr />;
      case "list":
        return list(token as Tokens.List, cite);
      case "table":
        return table(token as Tokens.Table, cite);
      default:
        return "tokens" in token && token.tokens ? inline(token.tokens, cite) : cited(token.raw, cite);
    }
  });
}

function list(token: Tokens.List, cite: Props["cite"]) {
  const items = token.items.map((item) => <li>{blocks(item.tokens, cite)}</li>);
  return token.ordered ? <ol start={Number(token.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function table(token: Tokens.Table, cite: Props["cite"]) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {token.header.map((cell) => (
              <th scope="col">{inline(cell.tokens, cite)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row) => (
            <tr>
              {row.map((cell) => (
                <td>{inline(cell.tokens, cite)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: readonly Token[] | undefined, cite: Props["cite"]): ComponentChildren[] {
  return (tokens ?? []).map((token) => {
    switch (token.type) {
      case "strong":
        return <strong>{inline(token.tokens, cite)}</strong>;
      case "em":
        return <em>{inline(token.tokens, cite)}</em>;
      case "del":
        return <del>{inline(token.tokens, cite)}</del>;
      case "codespan":
        return <code>{token.text}</code>;
      case "br":
        return <br />;
      case "link":
        return webAddress(token.href) ? (
          <a href={token.href} rel="noopener noreferrer" target="_blank">
            {inline(token.tokens, cite)}
          </a>
        ) : (
          inline(token.tokens, cite)
        );
      case "text":
        return token.tokens ? inline(token.tokens, cite) : cited(token.text, cite);
      case "escape":
        return token.text;
      default:
        return cited(token.raw, cite);
    }
  });
}

function cited(text: string, cite: Props["cite"]): ComponentChildren[] {
  return text.split(MARKER).map((part, at) => (at % 2 ? (cite(Number(part)) ?? `[${part}]`) : part));
}
