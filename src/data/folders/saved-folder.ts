/** Folders that `save_to_disk` of `datasets` writes: a data set, or several by split. */
import { z } from 'zod'
import { DataError } from '../errors.js'
import type { FolderContents, Splits } from './plan-folder.js'

const stateSchema = z.object({
  _data_files: z.array(z.object({ filename: z.string() })),
  _indices_data_files: z.array(z.object({ filename: z.string() })).nullish(),
  _split: z.string().nullish(),
})
const dictionarySchema = z.object({ splits: z.array(z.string()) })

/** Undefined where the folder was not written by `save_to_disk`. */
export async function planSaved(contents: FolderContents): Promise<Splits | undefined> {
  const { names } = contents
  if (names.includes('dataset_dict.json')) {
    const { splits } = await readJson(contents, 'dataset_dict.json', dictionarySchema)
    const planned = new Map<string, readonly string[]>()
    for (const split of splits) planned.set(split, (await filesIn(contents, `${split}/`)).files)
    return planned
  }
  if (!names.includes('state.json') || !names.includes('dataset_info.json')) return undefined
  const { files, split } = await filesIn(contents, '')
  return new Map([[split ?? 'train', files]])
}

async function filesIn(contents: FolderContents, folder: string) {
  const { names, shown } = contents
  const state = await readJson(contents, `${folder}state.json`, stateSchema)
  if (state._indices_data_files && state._indices_data_files.length > 0)
    throw new DataError(
      `${shown}/${folder}: rows are chosen by a file of indices, as old versions of datasets wrote; load it and save it again with a new one`,
    )
  const files = state._data_files.map(({ filename }) => `${folder}${filename}`)
  const missing = files.find(file => !names.includes(file))
  if (missing !== undefined)
    throw new DataError(`${shown}/${missing}: missing, but ${folder}state.json names it; copy the whole folder`)
  return { files, split: state._split }
}

async function readJson<T>({ read, shown, names }: FolderContents, name: string, schema: z.ZodType<T>): Promise<T> {
  if (!names.includes(name)) throw new DataError(`${shown}/${name}: missing; copy the whole folder`)
  let parsed: unknown
  try {
    parsed = JSON.parse(await read(name))
  } catch (cause) {
    throw new DataError(`${shown}/${name}: not JSON (${(cause as Error).message})`, { cause })
  }
  const result = schema.safeParse(parsed)
  if (!result.success)
    throw new DataError(`${shown}/${name}: not as save_to_disk writes it (${result.error.issues[0]!.message})`)
  return result.data
}
