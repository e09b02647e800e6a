"""The messages and emergency services that a pipeline can replace, by kind or region, and language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from shared.contracts.facts import RejectionKind

_RESPECT = {
    "en": "This question cannot be answered as it is written. Please ask it again in other words.",
    "fr": "Nous ne pouvons pas répondre à cette question telle qu'elle est écrite. Veuillez la reformuler.",
}

#: Rejection kind, or `greeting`, `thanks`, `emergency`, `help` -> language -> message to the asker.
DEFAULT_MESSAGES: dict[str, dict[str, str]] = {
    "too_short": {
        "en": "Please ask your question in a few more words, or try the search instead.",
        "fr": "Veuillez formuler votre question avec quelques mots de plus, ou utilisez la recherche.",
    },
    "pii": {
        "en": "Your question seems to contain personal information. Please ask it again without e-mail addresses, "
        "phone numbers or identification numbers.",
        "fr": "Votre question semble contenir des renseignements personnels. Veuillez la poser de nouveau sans adresse "
        "courriel, numéro de téléphone ni numéro d'identification.",
    },
    "profanity": _RESPECT,
    "threat": _RESPECT,
    "manipulation": _RESPECT,
    "jailbreak": _RESPECT,
    "guardrail": _RESPECT,
    "unchecked": {
        "en": "Your question could not be checked just now, so it was not passed on. Please ask it again in a moment.",
        "fr": "Votre question n'a pas pu être vérifiée pour le moment et n'a donc pas été transmise. Veuillez la poser "
        "de nouveau dans un instant.",
    },
    "off_topic": {
        "en": "This service cannot help with that topic.",
        "fr": "Ce service ne peut pas vous aider sur ce sujet.",
    },
    "not_a_question": {
        "en": "I am here to answer questions from the documents of this service. What would you like to know?",
        "fr": "Je réponds aux questions à partir des documents de ce service. Que souhaitez-vous savoir ?",
    },
    "greeting": {
        "en": "Hello! What would you like to know?",
        "fr": "Bonjour ! Que souhaitez-vous savoir ?",
    },
    "thanks": {
        "en": "You are welcome. Ask another question whenever you like.",
        "fr": "Avec plaisir. N'hésitez pas à poser une autre question.",
    },
    "emergency": {
        "en": "It sounds as if you or somebody else may be in danger. You do not have to face this alone: please reach "
        "out now to one of these services. If life is at risk, call the emergency number at once.",
        "fr": "Il semble que vous ou quelqu'un d'autre soyez peut-être en danger. Vous n'êtes pas seul : joignez dès "
        "maintenant l'un de ces services. Si une vie est menacée, appelez immédiatement le numéro d'urgence.",
    },
    "help": {
        "en": "If you or somebody else is hurt or in danger, these services help at any hour. The answer to your "
        "question follows.",
        "fr": "Si vous ou quelqu'un d'autre êtes blessé ou en danger, ces services vous aident à toute heure. La "
        "réponse à votre question suit.",
    },
    "unsupported_language": {
        "en": "Sorry, questions in this language cannot be answered here. Please ask in: {languages}.",
        "fr": "Désolé, nous ne pouvons pas répondre aux questions dans cette langue. Veuillez écrire en : {languages}.",
        "es": "Lo sentimos, aquí no se puede responder a preguntas en este idioma. Escriba en: {languages}.",
        "pt": "Lamentamos, não é possível responder a perguntas neste idioma. Escreva em: {languages}.",
        "de": "Fragen in dieser Sprache können wir leider nicht beantworten. Bitte schreiben Sie auf: {languages}.",
        "it": "Spiacenti, qui non è possibile rispondere a domande in questa lingua. Scriva in: {languages}.",
        "nl": "Sorry, vragen in deze taal kunnen hier niet worden beantwoord. Schrijf in: {languages}.",
        "pl": "Przepraszamy, na pytania w tym języku nie można tu odpowiedzieć. Prosimy pisać w języku: {languages}.",
        "ro": "Ne pare rău, aici nu se poate răspunde la întrebări în această limbă. Scrieți în: {languages}.",
        "sv": "Tyvärr kan frågor på det här språket inte besvaras här. Skriv på: {languages}.",
        "tr": "Üzgünüz, bu dildeki sorular burada yanıtlanamıyor. Lütfen şu dillerde yazın: {languages}.",
        "vi": "Rất tiếc, chúng tôi không thể trả lời câu hỏi bằng ngôn ngữ này. Vui lòng viết bằng: {languages}.",
        "ru": "К сожалению, здесь нельзя ответить на вопросы на этом языке. Пожалуйста, пишите на: {languages}.",
        "uk": "На жаль, тут не можна відповісти на запитання цією мовою. Будь ласка, пишіть: {languages}.",
        "el": "Λυπούμαστε, δεν μπορούμε να απαντήσουμε σε ερωτήσεις σε αυτή τη γλώσσα. Γράψτε στα: {languages}.",
        "ar": "عذرًا، لا يمكن الإجابة هنا عن الأسئلة بهذه اللغة. يُرجى الكتابة بـ: {languages}.",
        "fa": "متأسفیم، در اینجا نمی‌توان به پرسش‌ها به این زبان پاسخ داد. لطفاً به این زبان‌ها بنویسید: {languages}.",
        "ur": "معذرت، یہاں اس زبان میں سوالات کے جواب نہیں دیے جا سکتے۔ براہ کرم ان میں لکھیں: {languages}۔",
        "he": "מצטערים, אי אפשר לענות כאן על שאלות בשפה זו. נא לכתוב ב: {languages}.",
        "hi": "क्षमा करें, यहाँ इस भाषा में प्रश्नों का उत्तर नहीं दिया जा सकता। कृपया इनमें लिखें: {languages}।",
        "pa": "ਮਾਫ਼ ਕਰਨਾ, ਇੱਥੇ ਇਸ ਭਾਸ਼ਾ ਵਿੱਚ ਸਵਾਲਾਂ ਦੇ ਜਵਾਬ ਨਹੀਂ ਦਿੱਤੇ ਜਾ ਸਕਦੇ। ਕਿਰਪਾ ਕਰਕੇ ਇਹਨਾਂ ਵਿੱਚ ਲਿਖੋ: {languages}।",
        "bn": "দুঃখিত, এখানে এই ভাষায় প্রশ্নের উত্তর দেওয়া যায় না। অনুগ্রহ করে লিখুন: {languages}।",
        "ta": "மன்னிக்கவும், இந்த மொழியில் கேள்விகளுக்கு இங்கு பதிலளிக்க இயலாது. தயவுசெய்து எழுதுக: {languages}.",
        "th": "ขออภัย ที่นี่ไม่สามารถตอบคำถามในภาษานี้ได้ โปรดเขียนเป็น: {languages}",
        "ja": "申し訳ありませんが、この言語のご質問にはお答えできません。次の言語でお書きください：{languages}",
        "ko": "죄송합니다. 이 언어로 된 질문에는 답변할 수 없습니다. 다음 언어로 작성해 주세요: {languages}",
        "zh": "抱歉，此处无法回答该语言的问题。请使用以下语言提问：{languages}",
        "tl": "Paumanhin, hindi masasagot dito ang mga tanong sa wikang ito. Mangyaring sumulat sa: {languages}.",
    },
}


def check_messages(messages: Mapping[str, Mapping[str, str]]) -> None:
    """Checks that every kind of rejection has a message in English.

    Raises:
        TypeError: some have none; raised when this module is imported.
    """
    missing = [kind for kind in get_args(RejectionKind) if not messages.get(kind, {}).get("en")]
    if missing:
        raise TypeError(f"DEFAULT_MESSAGES has no English message for: {', '.join(missing)}")


check_messages(DEFAULT_MESSAGES)

#: Region (ISO 3166, `any` elsewhere) -> services for people in danger: address and title by language.
DEFAULT_RESOURCES: dict[str, list[dict[str, object]]] = {
    "CA": [
        {"url": "tel:911", "title": {"en": "911 — emergency services", "fr": "911 — services d'urgence"}},
        {
            "url": "tel:988",
            "title": {"en": "9-8-8 — Suicide Crisis Helpline", "fr": "9-8-8 — Ligne d'aide en cas de crise de suicide"},
        },
        {"url": "https://988.ca", "title": {"en": "988.ca — call or text, at any hour", "fr": "988.ca — jour et nuit"}},
    ],
    "US": [
        {"url": "tel:911", "title": {"en": "911 — emergency services"}},
        {"url": "tel:988", "title": {"en": "988 — Suicide & Crisis Lifeline"}},
    ],
    "GB": [
        {"url": "tel:999", "title": {"en": "999 — emergency services"}},
        {"url": "tel:116123", "title": {"en": "116 123 — Samaritans"}},
    ],
    "FR": [
        {"url": "tel:112", "title": {"fr": "112 — numéro d'urgence", "en": "112 — emergency number"}},
        {"url": "tel:15", "title": {"fr": "15 — SAMU", "en": "15 — medical emergencies"}},
        {"url": "tel:3114", "title": {"fr": "3114 — prévention du suicide", "en": "3114 — suicide prevention"}},
    ],
    "any": [
        {"url": "tel:112", "title": {"en": "112 — emergency number in many countries", "fr": "112 — numéro d'urgence"}},
        {
            "url": "https://findahelpline.com",
            "title": {"en": "Find a helpline in your country", "fr": "Trouver une ligne d'aide dans votre pays"},
        },
    ],
}
