/**
 * A beginning with more than this many times the tokens that are allowed settles it: what follows a text may change how its
 * last word is cut, but does not halve its tokens.
 */
export const slack = 2;
/** Characters a token may stand for beyond its own, where a normaliser composes them. */
const composed = 4;
/**
 * Lengths of the beginnings to encode, each twice the last, up to the whole text; undefined where the text cannot be in so
 * many tokens however they are cut. A cut never parts a surrogate pair.
 */
export function* beginnings(text, { maxTokens, longestToken }) {
    if (text.length > composed * longestToken * maxTokens + 4096) {
        yield undefined;
        return;
    }
    for (let length = 8 * maxTokens + 4096; length < text.length; length *= 2) {
        const unit = text.charCodeAt(length - 1);
        yield unit >= 0xd800 && unit < 0xdc00 ? length - 1 : length;
    }
    yield text.length;
}
//# sourceMappingURL=bounded-encoding.js.map