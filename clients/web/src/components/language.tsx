/** The choice of the page's language. */

import type { Language } from "../texts";

interface Props {
  language: Language;
  setLanguage: (language: Language) => void;
  /** What the choice is called, in the language of the page. */
  label: string;
}

export function LanguageChoice({ language, setLanguage, label }: Props) {
  return (
    <label>
      <span class="hidden">{label}</span>
      <select value={language} onChange={(event) => setLanguage(event.currentTarget.value as Language)}>
        <option value="en">English</option>
        <option value="fr">Français</option>
      </select>
    </label>
  );
}
