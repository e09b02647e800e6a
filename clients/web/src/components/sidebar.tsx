/** The conversations of this device. */

import type { Conversation } from "../conversations";
import type { Texts } from "../texts";
import { Icon } from "./icons";

interface Props {
  conversations: readonly Conversation[];
  chosen: string;
  texts: Texts;
  choose: (local: string) => void;
  remove: (local: string) => void;
}

export function Sidebar({ conversations, chosen, texts, choose, remove }: Props) {
  return (
    <nav id="conversations" class="sidebar" aria-label={texts.conversations}>
      <h2>{texts.conversations}</h2>
      {!conversations.length && <p class="muted">{texts.noConversations}</p>}
      <ul>
        {conversations.map((one) => (
          <li key={one.local}>
            <button type="button" class="quiet title" aria-current={one.local === chosen ? "true" : undefined} onClick={() => choose(one.local)}>
              {one.title}
            </button>
            <button type="button" class="quiet" aria-label={`${texts.remove}: ${one.title}`} onClick={() => remove(one.local)}>
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
    </nav>
  );
}
