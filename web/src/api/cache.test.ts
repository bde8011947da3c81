import { readdirSync, readFileSync } from "node:fs";
import {
  buildASTSchema,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  getNamedType,
  isAbstractType,
  isObjectType,
  Kind,
  parse,
  type SelectionSetNode,
} from "graphql";
import { expect, it } from "vitest";
import manifest from "../../trusted/current.json";
import { EMBEDDED } from "./cache";

const DIR = new URL("../../../graph/schema/", import.meta.url);
const files = readdirSync(DIR).filter((name) => name.endsWith(".graphqls"));
const text = files.map((name) => readFileSync(new URL(name, DIR), "utf8")).join("\n");
const schema = buildASTSchema(parse(text), { assumeValid: true, assumeValidSDL: true });
const embedded = new Set<string>(EMBEDDED);
/** Events go by the client without a cache. */
const UNCACHED = ["SessionNow", "SessionBefore"];

/** The types that are read without an id, in what one selection says of an object. */
function withoutIdentity(
  type: GraphQLCompositeType,
  selections: SelectionSetNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): Set<string> {
  const found = new Set<string>();
  const concrete = isAbstractType(type) ? schema.getPossibleTypes(type) : [type];
  for (const each of concrete) {
    if (!isObjectType(each)) continue;
    let identified = false;
    let meant = each === type;
    const visit = (set: SelectionSetNode) => {
      for (const node of set.selections) {
        if (node.kind === Kind.FIELD) {
          if (node.name.value === "id") identified = true;
          const field = each.getFields()[node.name.value];
          if (!field || !node.selectionSet) continue;
          const of = getNamedType(field.type) as GraphQLCompositeType;
          for (const name of withoutIdentity(of, node.selectionSet, fragments)) found.add(name);
          continue;
        }
        const fragment = node.kind === Kind.INLINE_FRAGMENT ? node : fragments.get(node.name.value);
        const on = fragment?.typeCondition?.name.value ?? each.name;
        const condition = schema.getType(on);
        const applies =
          on === each.name || (isAbstractType(condition) && schema.isSubType(condition, each));
        if (on === each.name) meant = true;
        if (fragment && applies) visit(fragment.selectionSet);
      }
    };
    visit(selections);
    if (meant && !identified && each !== schema.getQueryType()) found.add(each.name);
  }
  return found;
}

it("knows which types have no identity in what the dashboard reads", () => {
  const found = new Set<string>();
  for (const document of Object.values(manifest).map((each) => parse(each))) {
    const fragments = new Map(
      document.definitions.flatMap((each) =>
        each.kind === Kind.FRAGMENT_DEFINITION ? [[each.name.value, each] as const] : [],
      ),
    );
    for (const each of document.definitions) {
      const query = schema.getQueryType();
      if (each.kind !== Kind.OPERATION_DEFINITION || each.operation !== "query" || !query) continue;
      if (UNCACHED.includes(each.name?.value ?? "")) continue;
      for (const name of withoutIdentity(query, each.selectionSet, fragments)) found.add(name);
    }
  }
  expect(found.size).toBeGreaterThan(20);
  expect([...found].filter((name) => !embedded.has(name))).toEqual([]);
  expect([...embedded].filter((name) => !schema.getType(name))).toEqual([]);
});
