import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { BridgeMissingError } from './errors.js';
function load() {
    // dist/tensor and src/tensor are equally deep, so this is right for both.
    const path = fileURLToPath(new URL('../../build/whetstone.node', import.meta.url));
    if (!existsSync(path)) {
        throw new BridgeMissingError('the native bridge is not built; run `npx whetstone setup`');
    }
    try {
        return createRequire(import.meta.url)(path);
    }
    catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new BridgeMissingError(`the native bridge does not load (${reason}); run \`npx whetstone setup\``, { cause });
    }
}
export const native = load();
//# sourceMappingURL=native.js.map