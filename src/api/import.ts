/** A GGUF file as a model directory. */
import { checkNewDirectory } from '../files/index.js'
import { type Imported, type ImportGgufOptions, importGguf } from '../gguf/index.js'
import { type Report, silentReport } from '../progress/index.js'
import { checkNames, named } from './known-options.js'

export interface ImportModelOptions extends Pick<ImportGgufOptions, 'out' | 'dtype' | 'signal'> {
  readonly report?: Report | undefined
}

const optionNames = named('out', 'dtype', 'signal', 'report')

/**
 * Writes the model of a GGUF file as a Hugging Face directory.
 *
 * @example
 * await importModel('model.Q4_K_M.gguf', { out: 'models/imported' })
 */
export async function importModel(file: string, given: ImportModelOptions): Promise<Imported> {
  checkNames('importModel', given, optionNames, ['out'])
  const { report = silentReport, ...options } = given
  await checkNewDirectory(options.out)
  const shown = report.transfer('importing')
  return importGguf(file, {
    ...options,
    onProgress: ({ bytesDone, bytesTotal }) => shown.at(bytesDone, bytesTotal),
  }).finally(() => shown.end())
}
