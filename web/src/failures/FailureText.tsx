/** A failure in its own words, with its code. */
export function FailureText({ failure }: { failure: { code: string; message: string } }) {
  return (
    <>
      {failure.message} <code className="font-mono text-xs">{failure.code}</code>
    </>
  );
}
