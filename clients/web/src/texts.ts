/** The page's words in each of its languages. */

export type Language = "en" | "fr";

const EN = {
  title: "Answerbus",
  ask: "Ask a question",
  placeholder: "Your question …",
  send: "Send",
  stop: "Stop",
  newConversation: "New conversation",
  conversations: "Conversations",
  noConversations: "Your conversations on this device appear here.",
  showConversations: "Show conversations",
  hideConversations: "Hide conversations",
  remove: "Remove from this device",
  emptyTitle: "What would you like to know?",
  emptyText: "Answers come from the documents of this site, with the passages they rest on.",
  you: "You asked",
  answer: "Answer",
  sources: "Sources",
  source: "Source",
  open: "Open the page",
  checked: {
    works: "address works",
    replaced: "address replaced by one that works",
    removed: "address no longer works",
    unknown: "address not checked",
    not_allowed: "address not checked",
  },
  confidence: "Confidence",
  outOfTen: "out of 10",
  bestEffort: "Only part of this answer could be verified.",
  reused: "Answered before; nothing has changed since.",
  followups: "You could ask next",
  options: "Which one do you mean?",
  helpNow: "If you need help now",
  seeAlso: "See also",
  good: "Good answer",
  bad: "Bad answer",
  thanks: "Thank you for the feedback.",
  why: "What was wrong?",
  reasons: {
    incorrect: "It is wrong",
    incomplete: "Something is missing",
    off_topic: "It is about something else",
    unclear: "It is hard to understand",
    outdated: "It is out of date",
  },
  comment: "Comment (optional)",
  submit: "Send feedback",
  cancel: "Cancel",
  copy: "Copy",
  copied: "Copied",
  again: "Ask again",
  stages: {
    SENDING: "Sending your question",
    MODERATING_QUESTION: "Checking your question",
    BUILDING_CONTEXT: "Searching the documents",
    GENERATING_ANSWER: "Writing the answer",
    VERIFYING_CITATION: "Checking the citations",
  } as Record<string, string>,
  resuming: "The connection was lost. Going on where it stopped …",
  offline: "You are offline. Your question is kept, and goes on when the connection is back.",
  silent: "There is no answer to this here.",
  withdrawn: "You stopped this question.",
  errors: {
    limit: "Too many questions for now.",
    busy: "Too much is waiting at the moment.",
    connection: "The server cannot be reached.",
    denied: "You may not ask here.",
    key: "This key is not known.",
    other: "That did not work.",
  },
  tryIn: (seconds: number) => `Try again in ${seconds} seconds.`,
  tryAgain: "Try again",
  login: "Enter your key to ask questions",
  key: "API key",
  keyHint: "It is kept until this tab is closed.",
  enter: "Continue",
  leave: "Forget the key",
  language: "Language",
  experts: "Experts",
  slots: "Free times",
  booked: "Booked",
  with: "with",
  contents: "Recommended",
  minutes: "min",
  book: "Choose",
  choose: (time: string) => `Book ${time}`,
  loading: "Loading …",
};

export type Texts = typeof EN;

const FR: Texts = {
  title: "Answerbus",
  ask: "Poser une question",
  placeholder: "Votre question …",
  send: "Envoyer",
  stop: "Arrêter",
  newConversation: "Nouvelle conversation",
  conversations: "Conversations",
  noConversations: "Vos conversations sur cet appareil apparaissent ici.",
  showConversations: "Afficher les conversations",
  hideConversations: "Masquer les conversations",
  remove: "Retirer de cet appareil",
  emptyTitle: "Que voulez-vous savoir ?",
  emptyText: "Les réponses viennent des documents de ce site, avec les passages sur lesquels elles reposent.",
  you: "Vous avez demandé",
  answer: "Réponse",
  sources: "Sources",
  source: "Source",
  open: "Ouvrir la page",
  checked: {
    works: "adresse vérifiée",
    replaced: "adresse remplacée par une autre qui fonctionne",
    removed: "adresse qui ne fonctionne plus",
    unknown: "adresse non vérifiée",
    not_allowed: "adresse non vérifiée",
  },
  confidence: "Confiance",
  outOfTen: "sur 10",
  bestEffort: "Seule une partie de cette réponse a pu être vérifiée.",
  reused: "Déjà répondu ; rien n’a changé depuis.",
  followups: "Vous pourriez demander",
  options: "Que voulez-vous dire ?",
  helpNow: "Si vous avez besoin d’aide maintenant",
  seeAlso: "Voir aussi",
  good: "Bonne réponse",
  bad: "Mauvaise réponse",
  thanks: "Merci pour votre avis.",
  why: "Qu’est-ce qui n’allait pas ?",
  reasons: {
    incorrect: "C’est faux",
    incomplete: "Il manque quelque chose",
    off_topic: "Cela parle d’autre chose",
    unclear: "C’est difficile à comprendre",
    outdated: "Ce n’est plus à jour",
  },
  comment: "Commentaire (facultatif)",
  submit: "Envoyer l’avis",
  cancel: "Annuler",
  copy: "Copier",
  copied: "Copié",
  again: "Redemander",
  stages: {
    SENDING: "Envoi de votre question",
    MODERATING_QUESTION: "Vérification de votre question",
    BUILDING_CONTEXT: "Recherche dans les documents",
    GENERATING_ANSWER: "Rédaction de la réponse",
    VERIFYING_CITATION: "Vérification des citations",
  },
  resuming: "La connexion a été perdue. Reprise là où elle s’est arrêtée …",
  offline: "Vous êtes hors ligne. Votre question est gardée et reprend quand la connexion revient.",
  silent: "Il n’y a pas de réponse à cela ici.",
  withdrawn: "Vous avez arrêté cette question.",
  errors: {
    limit: "Trop de questions pour le moment.",
    busy: "Trop de travail attend en ce moment.",
    connection: "Le serveur est injoignable.",
    denied: "Vous ne pouvez pas poser de questions ici.",
    key: "Cette clé n’est pas connue.",
    other: "Cela n’a pas fonctionné.",
  },
  tryIn: (seconds) => `Réessayez dans ${seconds} secondes.`,
  tryAgain: "Réessayer",
  login: "Entrez votre clé pour poser des questions",
  key: "Clé d’API",
  keyHint: "Elle est gardée jusqu’à la fermeture de cet onglet.",
  enter: "Continuer",
  leave: "Oublier la clé",
  language: "Langue",
  experts: "Experts",
  slots: "Horaires libres",
  booked: "Réservé",
  with: "avec",
  contents: "Recommandé",
  minutes: "min",
  book: "Choisir",
  choose: (time) => `Réserver ${time}`,
  loading: "Chargement …",
};

const TEXTS: Record<Language, Texts> = { en: EN, fr: FR };

/** The words of a language. */
export function textsOf(language: Language): Texts {
  return TEXTS[language];
}

const KEPT = "answerbus.language";

/** The language of this page. */
export function keptLanguage(): Language {
  return preferredLanguage(localStorage.getItem(KEPT), navigator.languages);
}

export function keepLanguage(language: Language): void {
  localStorage.setItem(KEPT, language);
}

/** The language chosen before on this device, else the browser's. */
export function preferredLanguage(stored: string | null, browser: readonly string[]): Language {
  const wanted = [stored ?? "", ...browser].map((one) => one.slice(0, 2).toLowerCase());
  return wanted.find((one): one is Language => one in TEXTS) ?? "en";
}
