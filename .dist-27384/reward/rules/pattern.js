import { RewardConfigError } from '../errors.js';
import { rule } from './rule.js';
/** 1 where the response matches a regular expression, else 0. */
export function pattern({ name = 'pattern', pattern: source, flags = 'u', match = 'part', on = 'response', }) {
    let expression;
    try {
        // g and y would make the answer depend on the sample before.
        expression = new RegExp(match === 'whole' ? `^(?:${source})$` : source, flags.replace(/[gy]/g, ''));
    }
    catch (cause) {
        throw new RewardConfigError(`rule ${name}: pattern: ${cause.message}`, { cause });
    }
    return rule(name, ({ response, responseRaw }) => (expression.test(on === 'raw' ? responseRaw : response) ? 1 : 0));
}
//# sourceMappingURL=pattern.js.map