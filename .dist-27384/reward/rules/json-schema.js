import { z } from 'zod';
import { RewardConfigError } from '../errors.js';
import { rule } from './rule.js';
/** 1 where the response is JSON that fits a schema, else 0. The JSON may stand in a ```json block, the only one there is. */
export function jsonSchema({ name = 'json-schema', schema }) {
    let compiled;
    try {
        compiled = z.fromJSONSchema(schema);
    }
    catch (cause) {
        throw new RewardConfigError(`rule ${name}: schema: ${cause.message}`, { cause });
    }
    return rule(name, ({ response }) => {
        const parsed = parseJson(response);
        return parsed && compiled.safeParse(parsed.value).success ? 1 : 0;
    });
}
function parseJson(response) {
    const blocks = [...response.matchAll(/```(?:json)?[ \t]*\r?\n([\s\S]*?)```/g)];
    const text = blocks.length === 1 ? blocks[0][1] : response;
    try {
        return { value: JSON.parse(text) };
    }
    catch {
        return undefined;
    }
}
//# sourceMappingURL=json-schema.js.map