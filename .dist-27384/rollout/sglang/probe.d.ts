import type { InspectedServer, ServerConnection, ServerFacts } from '../remote/dialect.js';
type Fields = Readonly<Record<string, unknown>>;
/** Whether it can be controlled is found by trying, which changes it. */
export declare function inspect(server: ServerConnection): Promise<InspectedServer>;
export declare function probe(server: ServerConnection): Promise<ServerFacts>;
export declare const serverInfo: (server: ServerConnection) => Promise<Fields>;
export declare const modelInfo: (server: ServerConnection) => Promise<Fields>;
export {};
