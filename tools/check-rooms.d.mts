export const arrows: Readonly<Record<string, readonly string[]>>
export const pure: readonly string[]
export function checkRooms(source: string, allowed?: Readonly<Record<string, readonly string[]>>): string[]
