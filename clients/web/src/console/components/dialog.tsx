/** A dialog over the view: the browser keeps the focus in it, Escape closes it. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "../../components/icons";
import type { ConsoleTexts } from "../texts";
import { Failure } from "./states";

interface Props {
  title: string;
  common: ConsoleTexts;
  close: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, common, close, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={heading} onClose={close} onCancel={close}>
      <header class="row">
        <h2 id={heading}>{title}</h2>
        <button type="button" class="quiet" aria-label={common.close} onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}

interface ConfirmProps extends Props {
  /** What the button that goes ahead says. */
  action: string;
  danger?: boolean;
  busy: boolean;
  error: unknown;
  confirm: () => void;
}

export function Confirm({ action, danger, busy, error, confirm, children, ...dialog }: ConfirmProps) {
  return (
    <Dialog {...dialog}>
      <div class="stack">
        {children}
        {Boolean(error) && <Failure error={error} common={dialog.common} />}
        <div class="row end">
          <button type="button" onClick={dialog.close}>
            {dialog.common.cancel}
          </button>
          <button type="button" class={danger ? "danger" : "primary"} disabled={busy} onClick={confirm}>
            {action}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
