import { createContext, useContext } from "react";
import type { FieldError } from "./errors";
import type { Reference, Schema } from "./schema";

/** Something that a field can refer to. */
export interface Referable {
  name: string;
  displayName: string;
  destructive?: boolean;
}

export type References = Partial<Record<Reference, readonly Referable[]>>;

interface FormContext {
  /** The whole schema: what references lead into. */
  root: Schema;
  errors: readonly FieldError[];
  references: References;
}

export const FormContext = createContext<FormContext>({ root: {}, errors: [], references: {} });

export const useForm = () => useContext(FormContext);
