/** The model and the adapter that a program names. */
import { refuse } from '../errors/index.js'
import type { Report } from '../progress/index.js'
import { locateModel } from '../source/index.js'

/** Their directories, in place of names. A model of the program is left as it is. */
export async function locateGiven<M, A = undefined>(
  { model, adapter }: { readonly model: M | string; readonly adapter?: A | string | undefined },
  around: { readonly report: Report; readonly signal?: AbortSignal | undefined },
): Promise<{ model: M | string; adapter: A | string | undefined }> {
  const locate = async (option: string, name: string): Promise<string> => {
    const { directory, origin } = await locateModel(name, around).catch(error => refuse(option, error))
    // As it was given: messages show it.
    return origin.kind === 'path' ? name : directory
  }
  return {
    model: typeof model === 'string' ? await locate('model', model) : model,
    adapter: typeof adapter === 'string' ? await locate('adapter', adapter) : adapter,
  }
}
