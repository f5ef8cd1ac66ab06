/** Files as every room reads and writes them: whole or not at all, and with lines that have numbers. */
export { recoverDirectory, type WriteDirectoryOptions, writeDirectoryAtomic } from './atomic-directory.js'
export {
  type FileContent,
  FileWriteError,
  syncDirectory,
  writeFileAtomic,
} from './atomic-file.js'
export { cacheDirectory } from './cache-directory.js'
export { fileCrc32, fileSha256 } from './checksum.js'
export { lineInConfig, readConfigFile } from './config-file.js'
export { importModule, type ModuleExports, moduleFiles } from './import-module.js'
export { BadLines, parseJsonLine } from './jsonl.js'
export { type LineOptions, type NumberedLine, numberedLines } from './lines.js'
export { isHeld, type Lock, type LockHolder, readLock, removeDeadClaims, tryLock } from './lock.js'
export { makeDirectory } from './make-directory.js'
export { checkNewDirectory } from './new-directory.js'
export { type Output, type OutputContent, type OutputOptions, openOutput } from './output.js'
export { isProcessAlive, machineMark, processStart } from './process-identity.js'
export { leftoverOf, temporaryName, temporaryTarget } from './temporary.js'
