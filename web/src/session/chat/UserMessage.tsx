import type { ReactNode } from "react";
import { formatDateTime } from "@/ui/format";
import { LongText } from "@/ui/LongText";
import type { MessageImage } from "../feed/state";
import { MessageImages } from "./MessageImages";
import { MessageTools } from "./MessageTools";

interface UserMessageProps {
  text: string;
  images?: readonly MessageImage[];
  at?: string;
  /** What else can be done with it than to copy it. */
  tools?: ReactNode;
  /** What stands below it, such as why it was not sent. */
  children?: ReactNode;
}

export function UserMessage({ text, images = [], at, tools, children }: UserMessageProps) {
  return (
    <div data-role="user" className="group/message relative mt-6 flex flex-col items-end">
      <div
        title={at && formatDateTime(at)}
        className="max-w-[85%] rounded-2xl rounded-br-md bg-hover px-3.5 py-2 text-base whitespace-pre-wrap wrap-anywhere"
      >
        <span className="sr-only">You: </span>
        <LongText text={text}>{(shown) => shown}</LongText>
        <MessageImages images={images} />
      </div>
      <MessageTools text={text}>{tools}</MessageTools>
      {children}
    </div>
  );
}
