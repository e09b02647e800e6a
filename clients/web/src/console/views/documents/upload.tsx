/** Where files are dropped or chosen, and how far each of them has come. */

import { useRef, useState } from "preact/hooks";
import type { Language } from "../../../texts";
import type { Api } from "../../api";
import { Failure, Loading, wordsOf } from "../../components/states";
import { figure } from "../../formats";
import { useLoaded } from "../../loading";
import { linkTo } from "../../route";
import type { ConsoleTexts } from "../../texts";
import type { DocumentsTexts } from "./texts";
import type { Formats } from "./types";
import { ended, UnsuitableFileError, useUploads, type Description, type Upload } from "./uploads";

/** Endings that are named; the others are accepted as well. */
const NAMED = [".pdf", ".docx", ".pptx", ".xlsx", ".html", ".md", ".txt", ".csv"];

interface Props {
  api: Api;
  texts: DocumentsTexts;
  common: ConsoleTexts;
  language: Language;
  indexed: () => void;
}

export function UploadArea({ api, texts, common, language, indexed }: Props) {
  const formats = useLoaded((signal) => api.get<Formats>("/api/v1/documents/formats", {}, signal), []);
  const [over, setOver] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const { uploads, add, clear } = useUploads(api, indexed);
  const known = formats.value;

  const take = (files: FileList | null | undefined): void => {
    if (files?.length && known && form.current) add(files, descriptionOf(new FormData(form.current)), known);
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer?.files);
  };

  return (
    <section class="stack" aria-labelledby="documents-add">
      <h2 id="documents-add">{texts.add}</h2>
      {Boolean(formats.error) && <Failure error={formats.error} common={common} retry={formats.reload} />}
      {!known && formats.busy && <Loading common={common} />}
      {known && (
        <form ref={form} class="stack" onSubmit={(event) => event.preventDefault()}>
          <div
            class={`drop ${over ? "over" : ""}`}
            onDragOver={(event) => (event.preventDefault(), setOver(true))}
            onDragLeave={() => setOver(false)}
            onDrop={drop}
          >
            <p class="row">
              <span>{texts.drop}</span>
              <button type="button" class="primary" onClick={() => input.current?.click()}>
                {texts.choose}
              </button>
              <input
                ref={input}
                type="file"
                multiple
                hidden
                accept={known.formats.flatMap((one) => one.endings).join(",")}
                onChange={(event) => (take(event.currentTarget.files), (event.currentTarget.value = ""))}
              />
            </p>
            <p class="muted">{texts.accepted(NAMED.join(" "), sizeOf(known.max_bytes, language))}</p>
          </div>
          <details>
            <summary>{texts.details}</summary>
            <div class="fields">
              <Field label={texts.collection} hint={texts.collectionHint}>
                <input name="collection" maxLength={200} />
              </Field>
              <Field label={texts.groups} hint={texts.groupsHint}>
                <input name="groups" />
              </Field>
              <Field label={texts.metadata} hint={texts.metadataHint}>
                <textarea name="metadata" rows={2} />
              </Field>
            </div>
          </details>
        </form>
      )}
      {uploads.length > 0 && (
        <div class="stack">
          <ul class="uploads" aria-label={texts.uploads}>
            {uploads.map((one) => (
              <UploadRow key={one.number} upload={one} texts={texts} common={common} language={language} />
            ))}
          </ul>
          <p class="hidden" role="status">
            {uploads.filter(ended).map((one) => `${one.name}: ${stateWords(one, texts, common, language)}`)[0] ?? ""}
          </p>
          {uploads.some(ended) && (
            <div class="row end">
              <button type="button" onClick={clear}>
                {texts.clearUploads}
              </button>
            </div>
          )}
        </div>
      )}
    </section>
  );
}

function Field({ label, hint, children }: { label: string; hint: string; children: preact.ComponentChildren }) {
  return (
    <label class="field">
      {label}
      {children}
      <span class="muted">{hint}</span>
    </label>
  );
}

interface RowProps {
  upload: Upload;
  texts: DocumentsTexts;
  common: ConsoleTexts;
  language: Language;
}

function UploadRow({ upload, texts, common, language }: RowProps) {
  const bad = upload.state === "failed" || upload.state === "refused";
  const done = upload.state === "indexed" || upload.state === "unchanged";
  return (
    <li class={`upload ${bad ? "bad" : ""}`}>
      <span class="upload-name">
        {done ? <a href={linkTo("documents", [upload.source])}>{upload.name}</a> : upload.name} <span class="muted">{sizeOf(upload.size, language)}</span>
      </span>
      <span class={`badge ${bad ? "bad" : done ? "good" : ""}`}>{texts.states[upload.state]}</span>
      {!ended(upload) && (
        <progress aria-label={upload.name} max={1} value={upload.state === "sending" ? upload.sent : upload.state === "waiting" ? 0 : undefined} />
      )}
      {ended(upload) && <span class="upload-words">{stateDetail(upload, texts, common, language)}</span>}
    </li>
  );
}

function stateWords(upload: Upload, texts: DocumentsTexts, common: ConsoleTexts, language: Language): string {
  return `${texts.states[upload.state]}. ${stateDetail(upload, texts, common, language)}`;
}

/** What came of a file: what it has in the index, or why it is not there. */
function stateDetail({ submission, error }: Upload, texts: DocumentsTexts, common: ConsoleTexts, language: Language): string {
  if (error instanceof UnsuitableFileError) {
    const endings = [...new Set(error.formats.formats.flatMap((one) => one.endings))].filter((one) => NAMED.includes(one));
    if (error.why === "type") return texts.wrongType(endings.join(" "));
    return error.why === "size" ? texts.tooLarge(sizeOf(error.formats.max_bytes, language)) : texts.emptyFile;
  }
  if (error) return wordsOf(error, common);
  if (submission?.reason) return submission.reason;
  if (submission?.entities !== undefined) return texts.counts(submission.chunks ?? 0, submission.entities, submission.relations ?? 0);
  return submission?.chunks !== undefined ? texts.passageCount(submission.chunks) : "";
}

function sizeOf(bytes: number, language: Language): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${figure(bytes / 1000, language, 0)} kB` : `${figure(bytes / 1_000_000, language, 1)} MB`;
}

function descriptionOf(form: FormData): Description {
  const list = (name: string, separator: RegExp): string[] =>
    String(form.get(name) ?? "")
      .split(separator)
      .map((one) => one.trim())
      .filter(Boolean);
  return { collection: String(form.get("collection") ?? "").trim(), groups: list("groups", /,/), metadata: list("metadata", /\n/) };
}
