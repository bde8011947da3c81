import type { MessageImage } from "../feed/state";

/** The images of a message, each a way to its full size. */
export function MessageImages({ images }: { images: readonly MessageImage[] }) {
  if (images.length === 0) return null;
  return (
    <ul aria-label="Images" className="mt-1.5 flex flex-wrap gap-2">
      {images.map(({ imageId, url }, index) => (
        <li key={imageId}>
          <a href={url} target="_blank" rel="noopener" className="block rounded-lg">
            <img
              src={url}
              alt={images.length === 1 ? "Attached" : `Attached, ${index + 1} of ${images.length}`}
              loading="lazy"
              className="max-h-56 max-w-full rounded-lg border border-line object-contain"
            />
          </a>
        </li>
      ))}
    </ul>
  );
}
