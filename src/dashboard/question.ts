/**
 * What a prompt asks: of one that a chat template made, whose roles stand on lines of their own, the last words of the user. For lists;
 * the sample itself shows all of it.
 */
export function question(prompt: string): string {
  const [, asked] = /^(?:.*\n)?user\n+(.*?)\n*assistant\n?(?:<\w+>\s*)?$/s.exec(prompt) ?? []
  return asked?.trim() || prompt
}
