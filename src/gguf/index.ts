/** GGUF files in and out: llama.cpp's format for models. */
export { cachedImport } from './cached-import.js'
export { GgufError } from './errors.js'
export { type ExportGgufOptions, exportGguf } from './export.js'
export { GgufFile, isGgufPath, partPaths, type ReadDtype } from './file.js'
export { type Imported, type ImportGgufOptions, importGguf } from './import.js'
export { modelfile } from './modelfile.js'
export type { WrittenType } from './quantize.js'
