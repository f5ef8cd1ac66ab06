/**
 * How long a training waits for its run directory, at the most: all the time during which a call that writes there is under way,
 * also where it overlaps with generation or an update.
 */
import { Journal, Run } from 'whetstone/run'

/** Wraps the classes' methods until `stop`, which gives seconds: of all calls but checkpoints, and of one checkpoint. */
export function watchRunDirectory() {
  const spent = { writing: 0, checkpoint: 0 }
  const open = { writing: 0, checkpoint: 0 }
  const since = { writing: 0, checkpoint: 0 }
  let checkpoints = 0
  const enter = (/** @type {'writing' | 'checkpoint'} */ kind) => {
    if (open[kind]++ === 0) since[kind] = performance.now()
  }
  const leave = (/** @type {'writing' | 'checkpoint'} */ kind) => {
    if (--open[kind] === 0) spent[kind] += (performance.now() - since[kind]) / 1e3
  }
  /** @type {(() => void)[]} */
  const undo = []
  /** @param {any} prototype @param {string} name @param {'writing' | 'checkpoint'} kind */
  const watch = (prototype, name, kind) => {
    const original = prototype[name]
    prototype[name] = function (/** @type {unknown[]} */ ...given) {
      if (kind === 'checkpoint') checkpoints++
      enter(kind)
      let result
      try {
        result = original.apply(this, given)
      } catch (error) {
        leave(kind)
        throw error
      }
      if (!(result instanceof Promise)) {
        leave(kind)
        return result
      }
      return result.finally(() => leave(kind))
    }
    undo.push(() => {
      prototype[name] = original
    })
  }
  for (const name of ['append', 'read', 'discardFrom']) watch(Journal.prototype, name, 'writing')
  for (const name of ['metrics', 'event', 'skipped', 'sample']) watch(Run.prototype, name, 'writing')
  watch(Run.prototype, 'checkpoint', 'checkpoint')
  return {
    stop() {
      for (const each of undo) each()
      return { writing: spent.writing, checkpoint: checkpoints === 0 ? 0 : spent.checkpoint / checkpoints }
    },
  }
}
