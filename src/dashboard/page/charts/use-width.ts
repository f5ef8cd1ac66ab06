/** The width of an element, as it changes. */
import { useEffect, useState } from 'preact/hooks'

export function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const observed = element.current
    if (!observed) return
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)))
    observer.observe(observed)
    return () => observer.disconnect()
  }, [])
  return width
}
