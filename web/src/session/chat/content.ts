import type { ContentPartInput } from "@/gql/graphql";
import type { MessageImage } from "../feed/state";

/** A message as the API takes it. The text may be left out beside an image. */
export function contentOf(text: string, images: readonly MessageImage[]): ContentPartInput[] {
  return [...images.map(({ imageId }) => ({ imageId })), ...(text === "" ? [] : [{ text }])];
}
