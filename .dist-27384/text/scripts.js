/**
 * Scripts that are written without spaces between words: Chinese, Japanese, Thai and others. What counts words elsewhere counts
 * characters in them. The text is part of a regular expression with the flag `u`: a character of such a script.
 */
export const spacelessCharacter = `[${[
    'Han',
    'Hiragana',
    'Katakana',
    'Bopomofo',
    'Yi',
    'Thai',
    'Lao',
    'Khmer',
    'Myanmar',
    'Tibetan',
]
    // Script extensions: the mark of long vowels belongs to both kinds of kana.
    .map(script => `\\p{scx=${script}}`)
    .join('')}]`;
//# sourceMappingURL=scripts.js.map