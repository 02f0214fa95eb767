export type Json =
  | string
  | number
  | boolean
  | null
  | { [key: string]: Json | undefined }
  | Json[]

export type Database = {
  edge: {
    Tables: {
      a: {
        Row: {
          $dollar: number | null
          "123": number | null
          "9x": number | null
          a_rather_long_column_name_for_a_table_with_long_enum_names_xxxx:
            | Database["edge"]["Enums"]["mood"]
            | null
          "a-b": string | null
          d: number | null
          gen: number | null
          id: number
          j: Json[] | null
          jb: Json
          m: Database["edge"]["Enums"]["mood"]
          mm: Database["edge"]["Enums"]["mood"] | null
          ms: Database["edge"]["Enums"]["mood"][] | null
          new: string | null
          p: Database["edge"]["CompositeTypes"]["pair"] | null
          ps: Database["edge"]["CompositeTypes"]["pair"][]
          r: unknown
          u: string | null
          Übung: string | null
          v: string[] | null
          x: unknown
        }
        Insert: {
          $dollar?: number | null
          "123"?: number | null
          "9x"?: number | null
          a_rather_long_column_name_for_a_table_with_long_enum_names_xxxx?:
            | Database["edge"]["Enums"]["mood"]
            | null
          "a-b"?: string | null
          d?: number | null
          gen?: number | null
          id?: never
          j?: Json[] | null
          jb: Json
          m: Database["edge"]["Enums"]["mood"]
          mm?: Database["edge"]["Enums"]["mood"] | null
          ms?: Database["edge"]["Enums"]["mood"][] | null
          new?: string | null
          p?: Database["edge"]["CompositeTypes"]["pair"] | null
          ps: Database["edge"]["CompositeTypes"]["pair"][]
          r?: unknown
          u?: string | null
          Übung?: string | null
          v?: string[] | null
          x?: unknown
        }
        Update: {
          $dollar?: number | null
          "123"?: number | null
          "9x"?: number | null
          a_rather_long_column_name_for_a_table_with_long_enum_names_xxxx?:
            | Database["edge"]["Enums"]["mood"]
            | null
          "a-b"?: string | null
          d?: number | null
          gen?: number | null
          id?: never
          j?: Json[] | null
          jb?: Json
          m?: Database["edge"]["Enums"]["mood"]
          mm?: Database["edge"]["Enums"]["mood"] | null
          ms?: Database["edge"]["Enums"]["mood"][] | null
          new?: string | null
          p?: Database["edge"]["CompositeTypes"]["pair"] | null
          ps?: Database["edge"]["CompositeTypes"]["pair"][]
          r?: unknown
          u?: string | null
          Übung?: string | null
          v?: string[] | null
          x?: unknown
        }
        Relationships: []
      }
      b: {
        Row: {
          a: number
          c: number
        }
        Insert: {
          a: number
          c: number
        }
        Update: {
          a?: number
          c?: number
        }
        Relationships: []
      }
      c_with_a_rather_long_name: {
        Row: {
          a: number | null
          a1: number | null
          c: number | null
          id: number
          "other reference": number | null
        }
        Insert: {
          a?: number | null
          a1?: number | null
          c?: number | null
          id: number
          "other reference"?: number | null
        }
        Update: {
          a?: number | null
          a1?: number | null
          c?: number | null
          id?: number
          "other reference"?: number | null
        }
        Relationships: [
          {
            foreignKeyName: "c_with_a_rather_long_name_a1_fkey"
            columns: ["a1"]
            isOneToOne: false
            referencedRelation: "a"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "c_with_a_rather_long_name_a1_fkey"
            columns: ["a1"]
            isOneToOne: false
            referencedRelation: "mv"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "c_with_a_rather_long_name_a1_fkey"
            columns: ["a1"]
            isOneToOne: false
            referencedRelation: "va"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "c_with_a_rather_long_name_a1_fkey"
            columns: ["a1"]
            isOneToOne: false
            referencedRelation: "vj"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "c_with_a_rather_long_name_other reference_fkey"
            columns: ["other reference"]
            isOneToOne: true
            referencedRelation: "a"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "c_with_a_rather_long_name_other reference_fkey"
            columns: ["other reference"]
            isOneToOne: true
            referencedRelation: "mv"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "c_with_a_rather_long_name_other reference_fkey"
            columns: ["other reference"]
            isOneToOne: true
            referencedRelation: "va"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "c_with_a_rather_long_name_other reference_fkey"
            columns: ["other reference"]
            isOneToOne: true
            referencedRelation: "vj"
            referencedColumns: ["id"]
          },
          {
            foreignKeyName: "composite_key"
            columns: ["a", "c"]
            isOneToOne: false
            referencedRelation: "b"
            referencedColumns: ["a", "c"]
          },
        ]
      }
      part1: {
        Row: {
          id: number
          k: number | null
        }
        Insert: {
          id: number
          k?: number | null
        }
        Update: {
          id?: number
          k?: number | null
        }
        Relationships: []
      }
      partitioned: {
        Row: {
          id: number
          k: number | null
        }
        Insert: {
          id: number
          k?: number | null
        }
        Update: {
          id?: number
          k?: number | null
        }
        Relationships: []
      }
      self: {
        Row: {
          id: number
          parent: number | null
        }
        Insert: {
          id: number
          parent?: number | null
        }
        Update: {
          id?: number
          parent?: number | null
        }
        Relationships: [
          {
            foreignKeyName: "self_parent_fkey"
            columns: ["parent"]
            isOneToOne: false
            referencedRelation: "self"
            referencedColumns: ["id"]
          },
        ]
      }
    }
    Views: {
      mv: {
        Row: {
          id: number | null
          jb: Json | null
        }
        Relationships: []
      }
      va: {
        Row: {
          id: number | null
          m: Database["edge"]["Enums"]["mood"] | null
        }
        Insert: {
          id?: number | null
          m?: Database["edge"]["Enums"]["mood"] | null
        }
        Update: {
          id?: number | null
          m?: Database["edge"]["Enums"]["mood"] | null
        }
        Relationships: []
      }
      vj: {
        Row: {
          a: number | null
          c: number | null
          cid: number | null
          id: number | null
        }
        Relationships: [
          {
            foreignKeyName: "composite_key"
            columns: ["a", "c"]
            isOneToOne: false
            referencedRelation: "b"
            referencedColumns: ["a", "c"]
          },
        ]
      }
    }
    Functions: {
      f1: { Args: { a: number; b?: string; c?: string[] }; Returns: string }
      f11:
        | { Args: { a: number; b: number }; Returns: undefined }
        | { Args: { a: number; b: string }; Returns: undefined }
      f12: {
        Args: {
          first_argument_name: string
          second_argument_name: string
          third_argument_name: number
        }
        Returns: number[]
      }
      f14: {
        Args: {
          a: Database["edge"]["Enums"]["mood"]
          b?: Database["edge"]["Enums"]["mood"][]
        }
        Returns: Database["edge"]["Enums"]["mood"][]
      }
      f15: {
        Args: { "": Database["edge"]["Views"]["va"]["Row"] }
        Returns: {
          a: number
          c: number
        }
        SetofOptions: {
          from: "edge.va"
          to: "b"
          isOneToOne: true
          isSetofReturn: true
        }
      }
      f16: { Args: { a: unknown }; Returns: unknown }
      f17: { Args: never; Returns: Record<string, unknown>[] }
      f18: {
        Args: never
        Returns: {
          id: number | null
          jb: Json | null
        }
        SetofOptions: {
          from: "*"
          to: "mv"
          isOneToOne: true
          isSetofReturn: false
        }
      }
      f19: {
        Args: never
        Returns: {
          $dollar: number | null
          "123": number | null
          "9x": number | null
          a_rather_long_column_name_for_a_table_with_long_enum_names_xxxx:
            | Database["edge"]["Enums"]["mood"]
            | null
          "a-b": string | null
          d: number | null
          gen: number | null
          id: number
          j: Json[] | null
          jb: Json
          m: Database["edge"]["Enums"]["mood"]
          mm: Database["edge"]["Enums"]["mood"] | null
          ms: Database["edge"]["Enums"]["mood"][] | null
          new: string | null
          p: Database["edge"]["CompositeTypes"]["pair"] | null
          ps: Database["edge"]["CompositeTypes"]["pair"][]
          r: unknown
          u: string | null
          Übung: string | null
          v: string[] | null
          x: unknown
        }[]
        SetofOptions: {
          from: "*"
          to: "a"
          isOneToOne: false
          isSetofReturn: true
        }
      }
      f2: { Args: never; Returns: Record<string, unknown> }
      f20: { Args: { x: number }; Returns: number }
      f21:
        | { Args: { a?: number }; Returns: number }
        | { Args: { b: string }; Returns: number }
      f3: { Args: never; Returns: Database["edge"]["Enums"]["mood"][] }
      f4: {
        Args: { a: Database["edge"]["CompositeTypes"]["pair"] }
        Returns: Database["edge"]["CompositeTypes"]["pair"]
        SetofOptions: {
          from: "edge.pair"
          to: "pair"
          isOneToOne: true
          isSetofReturn: false
        }
      }
      f5: {
        Args: { "": Database["edge"]["Tables"]["a"]["Row"] }
        Returns: {
          error: true
        } & "the function edge.f5 with parameter or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache"
      }
      f6: {
        Args: { r: Database["edge"]["Tables"]["a"]["Row"] }
        Returns: {
          a: number
          c: number
        }
        SetofOptions: {
          from: "edge.a"
          to: "b"
          isOneToOne: true
          isSetofReturn: false
        }
      }
      f7: { Args: { "": Json }; Returns: Json }
      f9: {
        Args: never
        Returns: {
          a: number
          "b c": Database["edge"]["Enums"]["mood"]
          d: string[]
        }[]
      }
    }
    Enums: {
      mood:
        | "happy"
        | "sad"
        | 'it\'s "quoted"'
        | "a very long label of an enumeration type"
        | "another very long label of an enumeration"
      short: "a"
    }
    CompositeTypes: {
      pair: {
        x: number | null
        "Y z": string | null
        m: Database["edge"]["Enums"]["mood"] | null
        arr: string[] | null
        nested: Database["edge"]["Enums"]["short"] | null
      }
    }
  }
  empty_schema: {
    Tables: {
      [_ in never]: never
    }
    Views: {
      [_ in never]: never
    }
    Functions: {
      [_ in never]: never
    }
    Enums: {
      [_ in never]: never
    }
    CompositeTypes: {
      [_ in never]: never
    }
  }
  "Odd-Schema": {
    Tables: {
      "T 1": {
        Row: {
          id: number
          m: Database["edge"]["Enums"]["mood"] | null
        }
        Insert: {
          id: number
          m?: Database["edge"]["Enums"]["mood"] | null
        }
        Update: {
          id?: number
          m?: Database["edge"]["Enums"]["mood"] | null
        }
        Relationships: []
      }
    }
    Views: {
      [_ in never]: never
    }
    Functions: {
      [_ in never]: never
    }
    Enums: {
      [_ in never]: never
    }
    CompositeTypes: {
      [_ in never]: never
    }
  }
}

type DatabaseWithoutInternals = Omit<Database, "__InternalSupabase">

type DefaultSchema = DatabaseWithoutInternals[Extract<keyof Database, "public">]

export type Tables<
  DefaultSchemaTableNameOrOptions extends
    | keyof (DefaultSchema["Tables"] & DefaultSchema["Views"])
    | { schema: keyof DatabaseWithoutInternals },
  TableName extends DefaultSchemaTableNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  }
    ? keyof (DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Tables"] &
        DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Views"])
    : never = never,
> = DefaultSchemaTableNameOrOptions extends {
  schema: keyof DatabaseWithoutInternals
}
  ? (DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Tables"] &
      DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Views"])[TableName] extends {
      Row: infer R
    }
    ? R
    : never
  : DefaultSchemaTableNameOrOptions extends keyof (DefaultSchema["Tables"] &
        DefaultSchema["Views"])
    ? (DefaultSchema["Tables"] &
        DefaultSchema["Views"])[DefaultSchemaTableNameOrOptions] extends {
        Row: infer R
      }
      ? R
      : never
    : never

export type TablesInsert<
  DefaultSchemaTableNameOrOptions extends
    | keyof DefaultSchema["Tables"]
    | { schema: keyof DatabaseWithoutInternals },
  TableName extends DefaultSchemaTableNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  }
    ? keyof DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Tables"]
    : never = never,
> = DefaultSchemaTableNameOrOptions extends {
  schema: keyof DatabaseWithoutInternals
}
  ? DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Tables"][TableName] extends {
      Insert: infer I
    }
    ? I
    : never
  : DefaultSchemaTableNameOrOptions extends keyof DefaultSchema["Tables"]
    ? DefaultSchema["Tables"][DefaultSchemaTableNameOrOptions] extends {
        Insert: infer I
      }
      ? I
      : never
    : never

export type TablesUpdate<
  DefaultSchemaTableNameOrOptions extends
    | keyof DefaultSchema["Tables"]
    | { schema: keyof DatabaseWithoutInternals },
  TableName extends DefaultSchemaTableNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  }
    ? keyof DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Tables"]
    : never = never,
> = DefaultSchemaTableNameOrOptions extends {
  schema: keyof DatabaseWithoutInternals
}
  ? DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Tables"][TableName] extends {
      Update: infer U
    }
    ? U
    : never
  : DefaultSchemaTableNameOrOptions extends keyof DefaultSchema["Tables"]
    ? DefaultSchema["Tables"][DefaultSchemaTableNameOrOptions] extends {
        Update: infer U
      }
      ? U
      : never
    : never

export type Enums<
  DefaultSchemaEnumNameOrOptions extends
    | keyof DefaultSchema["Enums"]
    | { schema: keyof DatabaseWithoutInternals },
  EnumName extends DefaultSchemaEnumNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  }
    ? keyof DatabaseWithoutInternals[DefaultSchemaEnumNameOrOptions["schema"]]["Enums"]
    : never = never,
> = DefaultSchemaEnumNameOrOptions extends {
  schema: keyof DatabaseWithoutInternals
}
  ? DatabaseWithoutInternals[DefaultSchemaEnumNameOrOptions["schema"]]["Enums"][EnumName]
  : DefaultSchemaEnumNameOrOptions extends keyof DefaultSchema["Enums"]
    ? DefaultSchema["Enums"][DefaultSchemaEnumNameOrOptions]
    : never

export type CompositeTypes<
  PublicCompositeTypeNameOrOptions extends
    | keyof DefaultSchema["CompositeTypes"]
    | { schema: keyof DatabaseWithoutInternals },
  CompositeTypeName extends PublicCompositeTypeNameOrOptions extends {
    schema: keyof DatabaseWithoutInternals
  }
    ? keyof DatabaseWithoutInternals[PublicCompositeTypeNameOrOptions["schema"]]["CompositeTypes"]
    : never = never,
> = PublicCompositeTypeNameOrOptions extends {
  schema: keyof DatabaseWithoutInternals
}
  ? DatabaseWithoutInternals[PublicCompositeTypeNameOrOptions["schema"]]["CompositeTypes"][CompositeTypeName]
  : PublicCompositeTypeNameOrOptions extends keyof DefaultSchema["CompositeTypes"]
    ? DefaultSchema["CompositeTypes"][PublicCompositeTypeNameOrOptions]
    : never

export const Constants = {
  edge: {
    Enums: {
      mood: [
        "happy",
        "sad",
        'it\'s "quoted"',
        "a very long label of an enumeration type",
        "another very long label of an enumeration",
      ],
      short: ["a"],
    },
  },
  empty_schema: {
    Enums: {},
  },
  "Odd-Schema": {
    Enums: {},
  },
} as const
