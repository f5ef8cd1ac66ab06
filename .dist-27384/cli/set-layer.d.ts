import { type ConfigLayer } from '../train/index.js';
/** What `--set` says, as a layer over the config file; what cannot be read is the command line's mistake. */
export declare function setLayer(settings: readonly string[]): ConfigLayer;
