/** A horseshoe: an ostler looks after horses that do the work. */
export function BrandMark({ size = 22 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" className="shrink-0">
      <rect width="24" height="24" rx="6" className="fill-brand" />
      <path
        d="M7 19c-1-2.2-1.6-4.6-1.6-6.8C5.4 8 8.2 5.2 12 5.2s6.6 2.8 6.6 7c0 2.2-.6 4.6-1.6 6.8h-2.6c1-2.2 1.5-4.4 1.5-6.5 0-2.9-1.5-4.6-3.9-4.6s-3.9 1.7-3.9 4.6c0 2.1.5 4.3 1.5 6.5z"
        className="fill-white"
      />
    </svg>
  );
}
