import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
/** The package's own directory: this file is in `src/setup/` or `dist/setup/`. */
export const packageRoot = fileURLToPath(new URL('../..', import.meta.url));
export function bridgePaths(root) {
    const folder = join(root, 'build');
    return { folder, addon: join(folder, 'whetstone.node'), record: join(folder, 'bridge.json') };
}
export function readBridgeRecord(root) {
    try {
        return JSON.parse(readFileSync(bridgePaths(root).record, 'utf8'));
    }
    catch {
        return undefined;
    }
}
//# sourceMappingURL=bridge-record.js.map