// Made by generate.py from the tools of totonoe mcp.
/** A tool as a model sees it: its description, and the JSON schema of its input. */
export declare const TOOLS: Record<
  string,
  { description: string; inputSchema: Record<string, unknown> }
>;
/** What a model reads before notes that agents saved. */
export declare const LEAD: string;
