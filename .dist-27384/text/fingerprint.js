import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
/** Equal for directories with the same tokenizer, by content: it may be written with other spaces. Undefined where there is none. */
export async function tokenizerFingerprint(directory) {
    const text = await readFile(join(directory, 'tokenizer.json'), 'utf8').catch((error) => {
        if (error.code === 'ENOENT' || error.code === 'ENOTDIR')
            return undefined;
        throw error;
    });
    if (text === undefined)
        return undefined;
    return createHash('sha256')
        .update(JSON.stringify(JSON.parse(text)))
        .digest('hex');
}
//# sourceMappingURL=fingerprint.js.map