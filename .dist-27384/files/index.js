/** Files as every room reads and writes them: whole or not at all, and with lines that have numbers. */
export { recoverDirectory, writeDirectoryAtomic } from './atomic-directory.js';
export { FileWriteError, syncDirectory, writeFileAtomic, } from './atomic-file.js';
export { cacheDirectory } from './cache-directory.js';
export { fileCrc32, fileSha256 } from './checksum.js';
export { readConfigFile } from './config-file.js';
export { BadLines, parseJsonLine } from './jsonl.js';
export { numberedLines } from './lines.js';
export { makeDirectory } from './make-directory.js';
export { checkNewDirectory } from './new-directory.js';
export { openOutput } from './output.js';
export { isProcessAlive, machineMark, processStart } from './process-identity.js';
export { leftoverOf, temporaryName, temporaryTarget } from './temporary.js';
//# sourceMappingURL=index.js.map