import { RewardConfigError, SourceError } from '../errors.js';
import { rule } from './rule.js';
/** 1 for a response of a length between `min` and `max`, down to 0 beyond them. */
export function length(options = {}) {
    const { name = 'length', unit = 'tokens', min = 0, max = Number.POSITIVE_INFINITY, falloff = 0 } = options;
    if (!(min >= 0 && max >= min && falloff >= 0))
        throw new RewardConfigError(`rule ${name}: expected 0 <= min <= max and falloff >= 0, got ${min}, ${max}, ${falloff}`);
    if (min === 0 && max === Number.POSITIVE_INFINITY)
        throw new RewardConfigError(`rule ${name}: give min, max or both; without them every length is right`);
    return rule(name, input => {
        const size = measure[unit](input);
        const beyond = Math.max(min - size, size - max, 0);
        const reward = beyond === 0 ? 1 : falloff === 0 ? 0 : Math.max(0, 1 - beyond / falloff);
        return { reward, metrics: { length: size } };
    });
}
const measure = {
    tokens: ({ responseIds, responseRaw }) => {
        if (responseIds.length === 0 && responseRaw !== '')
            throw new SourceError('input', 'the sample has no ids to count; use characters or words');
        return responseIds.length;
    },
    // By code points: an emoji is one character, not two.
    characters: ({ response }) => [...response].length,
    words: ({ response }) => response.split(/\s+/).filter(word => word !== '').length,
};
//# sourceMappingURL=length.js.map