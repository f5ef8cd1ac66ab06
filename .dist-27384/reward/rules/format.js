import { RewardConfigError } from '../errors.js';
import { rule } from './rule.js';
/** 1 where the response, and nothing but the response, has its parts in order; else 0. */
export function format(options = {}) {
    const { name = 'format', tags = ['think', 'answer'], ending = 'nothing', outside = 'allowed', on = 'response', } = options;
    const { openedByPrompt } = options;
    const odd = tags.find(tag => !/^[\w-]+$/.test(tag));
    if (odd !== undefined)
        throw new RewardConfigError(`rule ${name}: tags: "${odd}" should be a name such as think, without brackets`);
    if (tags.length === 0 && ending === 'nothing')
        throw new RewardConfigError(`rule ${name}: tags is empty`);
    return rule(name, ({ response, responseRaw }) => {
        const text = (openedByPrompt ? `<${openedByPrompt}>` : '') + (on === 'raw' ? responseRaw : response);
        return hasParts(text, { tags, ending, outside }) ? 1 : 0;
    });
}
function hasParts(text, { tags, ending, outside }) {
    let at = 0;
    let between = '';
    for (const tag of tags) {
        const [open, close] = [`<${tag}>`, `</${tag}>`];
        const start = text.indexOf(open);
        const end = text.indexOf(close);
        const once = start === text.lastIndexOf(open) && end === text.lastIndexOf(close);
        if (start < at || end < start + open.length || !once)
            return false;
        between += text.slice(at, start);
        at = end + close.length;
    }
    const rest = text.slice(at);
    if (ending === 'boxed' && !/\\boxed\s*\{[\s\S]*\}/.test(rest))
        return false;
    // A box before the thinking is over is no conclusion.
    if (ending === 'boxed' && /\\boxed\s*\{/.test(text.slice(0, at)))
        return false;
    if (outside === 'forbidden' && (between + (ending === 'boxed' ? '' : rest)).trim() !== '')
        return false;
    return true;
}
//# sourceMappingURL=format.js.map