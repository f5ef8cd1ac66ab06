/** The model and the adapter that a program names. */
import { refuse } from '../errors/index.js'
import type { Report } from '../progress/index.js'
import { locateModel, withBase } from '../source/index.js'

/**
 * Their directories, in place of names. The directory of an adapter alone stands for its base model with it. A model of the program is
 * left as it is.
 */
export async function locateGiven<M, A = undefined>(
  { model, adapter }: { readonly model: M | string; readonly adapter?: A | string | undefined },
  around: { readonly report: Report; readonly signal?: AbortSignal | undefined },
): Promise<{ model: M | string; adapter: A | string | undefined }> {
  const locate = async (option: string, name: string): Promise<string> => {
    const { directory, origin } = await locateModel(name, around).catch(error => refuse(option, error))
    // As it was given: messages show it.
    return origin.kind === 'path' ? name : directory
  }
  const located = typeof adapter === 'string' ? await locate('adapter', adapter) : adapter
  if (typeof model !== 'string') return { model, adapter: located }
  const directory = await locate('model', model)
  if (located !== undefined && typeof located !== 'string') return { model: directory, adapter: located }
  const named: string | undefined = typeof located === 'string' ? located : undefined
  const found = await withBase({ model: directory, adapter: named }, around)
  return { model: found.model, adapter: found.adapter }
}
