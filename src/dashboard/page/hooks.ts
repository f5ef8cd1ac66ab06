/** What views share: the address, answers that stay fresh, and what is remembered in this browser. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { LiveEvent, Routes } from '../api.js'
import { type Address, readAddress, writeAddress } from './address.js'
import { AnswerError, type GetRoute, get, pathOf, type Question } from './client.js'
import { askOn } from './happened.js'

export function useAddress(): Address {
  const [address, setAddress] = useState(() => readAddress(location.hash))
  useEffect(() => {
    const read = () => setAddress(readAddress(location.hash))
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  return address
}

/** Goes to the same view with other settings. Settings that are only tuned leave no entry in the history. */
export function tune(address: Address, query: Readonly<Record<string, string | undefined>>): void {
  const merged = Object.entries({ ...address.query, ...query }).filter(([, value]) => value !== undefined)
  history.replaceState(
    null,
    '',
    writeAddress({ ...address, query: Object.fromEntries(merged) as Record<string, string> }),
  )
  dispatchEvent(new HashChangeEvent('hashchange'))
}

export interface Answered<T> {
  readonly answer: T | undefined
  readonly error: string | undefined
  /** The question has changed, and `answer` is still that of the one before. */
  readonly stale: boolean
  reload(): void
}

/** The answer to a question; asked again when one of these things has happened in the run. Without a question nothing is asked. */
export function useAnswer<R extends GetRoute>(
  question: Question<R> | undefined,
  on: readonly LiveEvent['kind'][] = [],
): Answered<Routes[R]['answer']> {
  const key = question ? pathOf(question as Question<GetRoute>) : undefined
  const [state, setState] = useState<{ key?: string; answer?: Routes[R]['answer']; error?: string }>({})
  const [again, setAgain] = useState(0)
  const asked = useRef(question)
  asked.current = question
  const reload = useCallback(() => setAgain(count => count + 1), [])
  useEffect(() => {
    if (key === undefined) return
    const abort = new AbortController()
    const stop = askOn(on, async () => {
      try {
        const answer = await get(asked.current!, abort.signal)
        if (!abort.signal.aborted) setState({ key, answer })
      } catch (error) {
        if (abort.signal.aborted) return
        if (error instanceof AnswerError && error.status === 401) dispatchEvent(new Event('whetstone-login'))
        const message = error instanceof Error ? error.message : String(error)
        setState(before => ({ ...before, key, error: message }))
      }
    })
    return () => {
      stop()
      abort.abort()
    }
  }, [key, again])
  return { answer: state.answer, error: state.error, stale: state.key !== key, reload }
}

/** Asks again every second while something is being made ready, such as the index of the samples. */
export function useAgain(isWaiting: boolean, reload: () => void): void {
  useEffect(() => {
    if (!isWaiting) return
    const timer = setInterval(reload, 1000)
    return () => clearInterval(timer)
  }, [isWaiting])
}

/** A choice that this browser remembers. */
export function useRemembered(name: string, initial: string): [string, (value: string) => void] {
  const [value, setValue] = useState(() => {
    try {
      return localStorage.getItem(`whetstone-${name}`) ?? initial
    } catch {
      return initial
    }
  })
  const set = (next: string) => {
    setValue(next)
    try {
      localStorage.setItem(`whetstone-${name}`, next)
    } catch {
      // A browser that stores nothing forgets the choice, and no more.
    }
  }
  return [value, set]
}
