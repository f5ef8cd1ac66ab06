import { settingsLayer } from '../train/index.js';
import { UsageError } from './flags.js';
/** What `--set` says, as a layer over the config file; what cannot be read is the command line's mistake. */
export function setLayer(settings) {
    try {
        return settingsLayer(settings);
    }
    catch (error) {
        throw new UsageError(error.message, { cause: error });
    }
}
//# sourceMappingURL=set-layer.js.map