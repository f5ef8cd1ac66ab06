const works: (() => unknown)[] = []

/**
 * To be done when the test file that is running has ended, the last one first. Most files share a process
 * (vitest.config.ts), and a helper is loaded once for all of them: its own `afterAll` would follow the first file alone.
 */
export function atEnd(work: () => unknown): void {
  works.push(work)
}

export async function endOfFile(): Promise<void> {
  for (const work of works.splice(0).reverse()) await work()
}
